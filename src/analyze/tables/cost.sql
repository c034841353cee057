SELECT name AS run, dsl AS language, model, method, solved, made AS attempts, calls,
    input AS "tokens in",
    output AS "tokens out",
    usd_micro / 1e6 AS "dollars:6",
    1.0 * made / solved AS "attempts per solve:2",
    1.0 * (input + output) / solved AS "tokens per solve:0",
    usd_micro / 1e6 / solved AS "dollars per solve:6"
FROM run ORDER BY nr;

SELECT name || ': tokens or dollars are partly estimated' AS note
FROM run WHERE estimated ORDER BY nr;
