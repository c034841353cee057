SELECT name AS run, dsl AS language, model, method, tasks, solved,
    wilson_low(solved, tasks) * tasks AS "low:1",
    wilson_high(solved, tasks) * tasks AS "high:1",
    ifnull(sum(made), 0) AS attempts,
    ifnull(sum(input), 0) AS "tokens in",
    ifnull(sum(output), 0) AS "tokens out",
    ifnull(sum(usd_micro), 0) / 1e6 AS "dollars:6",
    ifnull(1.0 * sum(input + output), 0) / solved AS "tokens per solve:0",
    ifnull(sum(usd_micro), 0) / 1e6 / solved AS "dollars per solve:6",
    ifnull((SELECT group_concat(n || ' ' || verdict, ', ') FROM (
        SELECT verdict, sum(n) AS n FROM outcomes AS o JOIN verdict USING (verdict)
        JOIN task AS t ON t.nr = o.nr AND t.ord = o.ord
        WHERE o.nr = run.nr AND verdict <> 'correct'
        GROUP BY verdict ORDER BY place)), '') AS "not correct"
FROM run LEFT JOIN task USING (nr) LEFT JOIN calls USING (nr, ord) GROUP BY nr ORDER BY nr;

SELECT 'low and high: Wilson''s 95 % interval, in tasks; tokens and dollars: of the calls for '
    || 'these tasks' AS note;
