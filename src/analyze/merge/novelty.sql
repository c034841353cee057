-- Attempts that were made while their tasks were not solved, by how many of their examples an
-- earlier one did not see: the attempt before (`previous`), the last one with the same mode of
-- retrieval (`alike`), or both. `newer` counts those alone that joined since then.
, again AS MATERIALIZED (
    SELECT task, attempt, attempt = ifnull(solved_at, 0) AS hit,
        (SELECT attempt FROM attempt AS p WHERE p.task = a.task AND p.attempt < a.attempt
         ORDER BY attempt DESC LIMIT 1) AS before,
        (SELECT attempt FROM attempt AS p WHERE p.task = a.task AND p.attempt < a.attempt
            AND p.retrieval = a.retrieval ORDER BY attempt DESC LIMIT 1) AS same
    FROM subject CROSS JOIN attempt AS a ON task = ord
    WHERE NOT piece AND NOT skipped AND attempt <= ifnull(solved_at, attempt)
        AND EXISTS (SELECT 1 FROM shown AS s WHERE s.task = a.task AND s.attempt = a.attempt)),
pair AS (
    SELECT task, attempt, hit, before AS earlier, 1 AS previous, before IS same AS alike
    FROM again WHERE before IS NOT NULL
    UNION ALL SELECT task, attempt, hit, same, 0, 1 FROM again WHERE same <> before),
fresh AS NOT MATERIALIZED (
    SELECT s.task, s.attempt, s.entry, p.attempt AS earlier, archive_version
    FROM attempt AS p JOIN shown AS s USING (task)
    WHERE NOT EXISTS (SELECT 1 FROM shown AS t WHERE t.task = s.task
        AND t.attempt = p.attempt AND t.entry = s.entry)),
counted AS MATERIALIZED (
    SELECT *, (SELECT count(*) FROM fresh WHERE (task, attempt, earlier) =
        (pair.task, pair.attempt, pair.earlier)) AS changed
    FROM pair)
SELECT :nr AS nr, previous, alike, hit, changed, iif(changed, (
        SELECT count(*) FROM fresh JOIN entry USING (entry)
        WHERE (fresh.task, fresh.attempt, earlier) =
            (counted.task, counted.attempt, counted.earlier) AND version > archive_version), 0)
    AS newer, count(*) AS attempts
FROM counted GROUP BY 2, 3, 4, 5, 6;
