WITH tried AS (
    SELECT novelty.*, solved_at, run.name FROM novelty
    JOIN task USING (nr, ord) JOIN run USING (nr)
    WHERE retrieval <> '' AND attempt <= ifnull(solved_at, attempt)),
reading AS (
    SELECT *, 0 AS only_newer, changed AS n FROM tried
    UNION ALL SELECT *, 1, newer FROM tried)
SELECT name AS run,
    iif(same, 'previous of the same mode', 'previous attempt')
        || iif(only_newer, ', newer kernels', '') AS "compared with",
    min(n, 15) AS "examples changed",
    count(*) AS attempts,
    count(*) FILTER (WHERE attempt = solved_at) AS successful,
    1.0 * count(*) FILTER (WHERE attempt = solved_at) / count(*) AS "success rate:%"
FROM reading GROUP BY nr, only_newer, same, min(n, 15)
ORDER BY nr, only_newer, same, min(n, 15);

SELECT 'attempts after the first on tasks that were not solved by then' AS note;

SELECT 'no task was tried again with examples from an archive' AS empty;
