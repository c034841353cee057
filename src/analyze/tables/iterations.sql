SELECT name AS run, k AS attempt,
    count(*) FILTER (WHERE solved_at <= k) AS correct,
    count(*) FILTER (WHERE compiled_at <= k) AS compiled,
    tasks
FROM run JOIN number ON k <= attempts LEFT JOIN task USING (nr)
LEFT JOIN compiled USING (nr, ord)
GROUP BY nr, k ORDER BY nr, k;

SELECT 'a task counts as compiled from its first attempt that compiled, correct or not' AS note;
