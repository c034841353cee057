WITH known AS (
    SELECT nr, max(eager) IS NOT NULL AS eager, max(compile) IS NOT NULL AS compile
    FROM win GROUP BY nr HAVING coalesce(max(eager), max(compile)) IS NOT NULL),
p (p) AS (VALUES (0.0), (0.5), (0.8), (1.0), (1.5), (2.0))
SELECT name AS run, p AS "p:1",
    iif(known.eager, 1.0 * count(DISTINCT ord) FILTER (WHERE win.eager > p) / tasks, NULL)
        AS "eager > p:%",
    iif(known.eager, 1.0 * count(DISTINCT ord) FILTER (WHERE win.eager >= p) / tasks, NULL)
        AS "eager >= p:%",
    iif(known.compile, 1.0 * count(DISTINCT ord) FILTER (WHERE win.compile > p) / tasks, NULL)
        AS "compile > p:%",
    iif(known.compile, 1.0 * count(DISTINCT ord) FILTER (WHERE win.compile >= p) / tasks, NULL)
        AS "compile >= p:%"
FROM run JOIN known USING (nr) JOIN p LEFT JOIN win ON win.nr = run.nr
GROUP BY run.nr, p ORDER BY run.nr, p;

WITH best AS (
    SELECT nr, 'eager' AS base, max(eager) AS x FROM win GROUP BY nr, ord
    UNION ALL SELECT nr, 'compile', max(compile) FROM win GROUP BY nr, ord)
SELECT format('%s: geometric mean over %s %s, of %d kernels that were timed, of %d solved tasks',
    name, base, fixed(geomean(x), 2), count(x), solved) AS note
FROM best JOIN run USING (nr) GROUP BY nr, base HAVING count(x)
ORDER BY nr, base DESC;

SELECT 'no kernel was timed: ' || coalesce((
    SELECT coalesce(nullif(why, ''), 'the records do not say why') FROM win
    WHERE attempt = solved_at ORDER BY nr DESC, ord DESC LIMIT 1), 'no task was solved') AS empty;
