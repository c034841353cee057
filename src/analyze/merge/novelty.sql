-- How many of its examples an attempt saw that an earlier one did not: the attempt
-- before, or (`same`) the last one with the same mode of retrieval. `newer` counts
-- those alone that joined since then.
WITH tried AS (
    SELECT task, attempt,
        lag(attempt) OVER (PARTITION BY task ORDER BY attempt) AS before,
        iif(retrieval IS NULL, NULL,
            lag(attempt) OVER (PARTITION BY task, retrieval ORDER BY attempt)) AS alike
    FROM attempt),
pair AS (
    SELECT task, attempt, 0 AS same, before AS was FROM tried
    UNION ALL SELECT task, attempt, 1, alike FROM tried),
seen AS (
    SELECT pair.*, entry, EXISTS (
        SELECT 1 FROM shown AS s
        WHERE s.task = pair.task AND s.attempt = was AND s.entry = shown.entry) AS known
    FROM pair JOIN shown USING (task, attempt) WHERE was IS NOT NULL)
SELECT :nr AS nr, seen.task AS ord, seen.attempt, same,
    count(*) FILTER (WHERE NOT known) AS changed,
    count(*) FILTER (WHERE NOT known AND entry.version > (
        SELECT archive_version FROM attempt AS a
        WHERE a.task = seen.task AND a.attempt = was)) AS newer
FROM seen LEFT JOIN entry USING (entry)
GROUP BY seen.task, seen.attempt, same;
