WITH reading (place, title, nr, n, attempts, hits) AS (
    SELECT 0, 'previous attempt', nr, changed, attempts, hit * attempts
        FROM novelty WHERE previous
    UNION ALL SELECT 1, 'previous of the same mode', nr, changed, attempts, hit * attempts
        FROM novelty WHERE alike
    UNION ALL SELECT 2, 'previous attempt, newer kernels', nr, newer, attempts, hit * attempts
        FROM novelty WHERE previous
    UNION ALL SELECT 3, 'previous of the same mode, newer kernels', nr, newer, attempts,
        hit * attempts FROM novelty WHERE alike),
counted AS (
    SELECT nr, place, title, min(n, 15) AS n, sum(attempts) AS attempts, sum(hits) AS hits
    FROM reading JOIN strategy USING (nr) GROUP BY nr, place, min(n, 15))
SELECT name AS run, title AS "compared with", n AS "examples changed", attempts,
    hits AS successful, 1.0 * hits / attempts AS "success rate:%"
FROM counted JOIN log USING (nr) ORDER BY nr, place, n;

SELECT 'attempts after the first on tasks that were not solved by then' AS note;

SELECT 'no task was tried again with examples from an archive' AS empty;
