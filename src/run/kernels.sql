-- Each task and piece of a run, with the kernel that stands for it: that of the first attempt which
-- is correct at E3 and whose entry has not left the archive. `attempt` is NULL without one.
WITH fact AS (
    SELECT max(value) FILTER (WHERE name = 'method') AS method,
        max(value) FILTER (WHERE name = 'model') AS model,
        max(value) FILTER (WHERE name = 'dsl') AS dsl,
        max(value) FILTER (WHERE name = 'precision') AS precision,
        max(value) FILTER (WHERE name = 'device') AS device,
        max(CAST(value AS INTEGER)) FILTER (WHERE name = 'rules') AS rules
    FROM main.fact),
found AS (
    SELECT task, min(attempt) AS attempt FROM attempt JOIN verdict AS v USING (task, attempt)
    WHERE solved AND code IS NOT NULL AND v.verdict = 'correct' AND v.evidence >= 'E3'
        AND (task, attempt) NOT IN (SELECT task, attempt FROM entry JOIN entry_left USING (entry))
    GROUP BY task),
again AS ( -- the last time: the other columns are of this row
    SELECT problem, solution, max(pass), rules, judged_at, ifnull(why, verdict) AS why,
        verdict = 'correct' AND ifnull(evidence, '') >= 'E3' AS passed
    FROM recheck GROUP BY problem, solution)
SELECT ord AS task, id, source, path, kind,
    piece(kind, level, depth, parents, needs) AS "piece:o",
    found.attempt, code, plan, evidence, record, times,
    fact.method AS method, model, dsl, precision, device,
    coalesce(again.rules, iif(fact.rules > 0, fact.rules, 1)) AS rules,
    iif(passed, NULL, strftime('%Y-%m-%d', again.judged_at / 1000000, 'unixepoch')) AS retired_on,
    iif(passed, NULL, why) AS retired_why
FROM task CROSS JOIN fact LEFT JOIN found ON found.task = ord
LEFT JOIN attempt AS a ON a.task = ord AND a.attempt = found.attempt
LEFT JOIN verdict AS v ON v.task = ord AND v.attempt = found.attempt
LEFT JOIN verdict_time AS t ON t.task = ord AND t.attempt = found.attempt
LEFT JOIN again ON problem = source AND solution = code
ORDER BY ord;
