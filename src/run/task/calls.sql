SELECT purpose, try, state, messages(prompt) AS "prompt:j", text(reply) AS reply,
    text(thought) AS thought, finish, model, error, input AS tokens_in, cached AS tokens_cached,
    output AS tokens_out, reasoning AS tokens_reasoning, estimated AS "estimated:b",
    cost_usd_micro AS usd_micro, assumed_usd_micro, requests, wall_us
FROM call WHERE task = :task AND attempt = :attempt ORDER BY asked_at, try, purpose, asked;
