WITH tried AS MATERIALIZED (
    SELECT novelty.*, attempt = ifnull(solved_at, 0) AS hit FROM novelty
    JOIN run USING (nr) JOIN task USING (nr, ord)
    WHERE retrieval <> '' AND attempt <= ifnull(solved_at, attempt)),
reading (place, title, nr, n, hit) AS (
    SELECT 0, 'previous attempt', nr, changed, hit FROM tried
    UNION ALL SELECT 1, 'previous of the same mode', nr, changed_alike, hit FROM tried
        WHERE alike IS NOT NULL
    UNION ALL SELECT 2, 'previous attempt, newer kernels', nr, newer, hit FROM tried
    UNION ALL SELECT 3, 'previous of the same mode, newer kernels', nr, newer_alike, hit FROM tried
        WHERE alike IS NOT NULL),
counted AS (
    SELECT nr, place, title, min(n, 15) AS n, count(*) AS attempts, sum(hit) AS hits
    FROM reading GROUP BY nr, place, min(n, 15))
SELECT name AS run, title AS "compared with", n AS "examples changed", counted.attempts,
    hits AS successful, 1.0 * hits / counted.attempts AS "success rate:%"
FROM counted JOIN run USING (nr) ORDER BY nr, place, n;

SELECT 'attempts after the first on tasks that were not solved by then' AS note;

SELECT 'no task was tried again with examples from an archive' AS empty;
