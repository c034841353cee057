-- Of several kernels of a task one is fast enough by an attempt: that task counts.
WITH known AS (
    SELECT nr, max(eager) IS NOT NULL AS eager, max(compile) IS NOT NULL AS compile
    FROM win GROUP BY nr HAVING coalesce(max(eager), max(compile)) IS NOT NULL)
SELECT name AS run, k AS attempt,
    1.0 * count(DISTINCT ord) FILTER (WHERE solved_at <= k) / tasks AS "solved:%",
    iif(known.eager, 1.0 * count(DISTINCT ord) FILTER (WHERE win.eager > 1) / tasks, NULL)
        AS "eager > 1:%",
    iif(known.eager, 1.0 * count(DISTINCT ord) FILTER (WHERE win.eager >= 1) / tasks, NULL)
        AS "eager >= 1:%",
    iif(known.compile, 1.0 * count(DISTINCT ord) FILTER (WHERE win.compile > 1) / tasks, NULL)
        AS "compile > 1:%",
    iif(known.compile, 1.0 * count(DISTINCT ord) FILTER (WHERE win.compile >= 1) / tasks, NULL)
        AS "compile >= 1:%"
FROM run JOIN known USING (nr) JOIN number ON k <= attempts
LEFT JOIN win ON win.nr = run.nr AND attempt <= k
GROUP BY run.nr, k ORDER BY run.nr, k;

SELECT 'shares of all tasks; > is KernelBench''s fast_1, >= counts parity; of several kernels '
    || 'of a task, the fastest so far' AS note;

SELECT 'no kernel was timed: ' || coalesce((
    SELECT coalesce(nullif(why, ''), 'the records do not say why') FROM win
    WHERE attempt = solved_at ORDER BY nr DESC, ord DESC LIMIT 1), 'no task was solved') AS empty;
