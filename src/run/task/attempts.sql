-- A line for each attempt at a task, or for one of them.
SELECT a.attempt, a.verdict, a.stage, evidence, rule,
    iif(solved, NULL, error(record)) AS error,
    speedup(times, 'reference_ms') AS speedup,
    (SELECT json_group_array(name) FROM (
        SELECT ifnull(name, '?') AS name FROM shown LEFT JOIN entry USING (entry)
        WHERE shown.task = a.task AND shown.attempt = a.attempt ORDER BY rank)) AS "shown:j",
    ifnull(sum(input), 0) AS tokens_in, ifnull(sum(output), 0) AS tokens_out,
    ifnull(sum(cost_usd_micro), 0) AS usd_micro, ifnull(max(estimated), 0) AS "estimated:b",
    solved AS "solved:b", same_as,
    iif(solved, doubt(record, times), NULL) AS implausible
FROM attempt AS a LEFT JOIN verdict USING (task, attempt)
LEFT JOIN verdict_time USING (task, attempt) LEFT JOIN call USING (task, attempt)
WHERE a.task = :task AND a.attempt = ifnull(:attempt, a.attempt)
GROUP BY a.attempt ORDER BY a.attempt;
