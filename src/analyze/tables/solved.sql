SELECT name AS run, dsl AS language, model, method, seeds, attempts, tasks, solved,
    1.0 * solved / tasks AS "share:%",
    wilson_low(solved, tasks) AS "low:%",
    wilson_high(solved, tasks) AS "high:%"
FROM run ORDER BY nr;

SELECT format('%s: tasks that cannot be judged do not count: %d', name, skipped) AS note, nr, 1
FROM run WHERE skipped
UNION ALL SELECT name || ' is not finished: ' || state, nr, 2
FROM run WHERE state NOT IN ('finished', 'unknown')
ORDER BY 2, 3;

SELECT 'low and high: Wilson''s 95 % interval' AS note;
