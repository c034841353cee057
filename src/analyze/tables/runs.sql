SELECT name AS run, dsl AS language, model, method, tasks, solved,
    wilson_low(solved, tasks) * tasks AS "low:1",
    wilson_high(solved, tasks) * tasks AS "high:1",
    ifnull(sum(tries), 0) AS attempts,
    ifnull(sum(task.input), 0) AS "tokens in",
    ifnull(sum(task.output), 0) AS "tokens out",
    ifnull(sum(task.usd_micro), 0) / 1e6 AS "dollars:6",
    1.0 * sum(task.input + task.output) / solved AS "tokens per solve:0",
    sum(task.usd_micro) / 1e6 / solved AS "dollars per solve:6",
    ifnull((SELECT group_concat(n || ' ' || verdict, ', ') FROM (
        SELECT verdict, count(*) AS n FROM task AS t
        JOIN attempts USING (nr, ord) JOIN verdict USING (verdict)
        WHERE t.nr = run.nr AND verdict <> 'correct'
        GROUP BY verdict ORDER BY place)), '') AS "not correct"
FROM run LEFT JOIN task USING (nr) GROUP BY nr ORDER BY nr;

SELECT 'low and high: Wilson''s 95 % interval, in tasks; tokens and dollars: of the calls for '
    || 'these tasks' AS note;
