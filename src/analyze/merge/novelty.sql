-- How many of its examples an attempt saw that an earlier one did not: the attempt
-- before, or the last one `alike`, with the same mode of retrieval (NULL: there is
-- none). `newer` counts those alone that joined since then. What is asked for each
-- example is written so that it is asked once, and only where it matters.
WITH tried AS MATERIALIZED (
    SELECT task, attempt,
        (SELECT attempt FROM attempt AS p WHERE p.task = a.task AND p.attempt < a.attempt
         ORDER BY attempt DESC LIMIT 1) AS before,
        (SELECT attempt FROM attempt AS p WHERE p.task = a.task AND p.attempt < a.attempt
            AND p.retrieval = a.retrieval ORDER BY attempt DESC LIMIT 1) AS alike
    FROM attempt AS a),
seen AS MATERIALIZED (
    SELECT tried.task, tried.attempt, before, alike, shown.entry,
        EXISTS (SELECT 1 FROM shown AS s WHERE s.task = tried.task AND s.attempt = before
            AND s.entry = shown.entry) AS known,
        CASE WHEN alike <> before THEN
            EXISTS (SELECT 1 FROM shown AS s WHERE s.task = tried.task AND s.attempt = alike
                AND s.entry = shown.entry) END AS known_alike
    FROM tried CROSS JOIN shown USING (task, attempt) WHERE before IS NOT NULL),
aged AS MATERIALIZED (
    SELECT task, attempt, before, alike, known, ifnull(known_alike, known) AS known_alike,
        CASE WHEN NOT (known AND ifnull(known_alike, known)) THEN
            (SELECT version FROM entry WHERE entry.entry = seen.entry) END AS joined
    FROM seen)
SELECT :nr AS nr, task AS ord, attempt, alike,
    count(*) FILTER (WHERE NOT known) AS changed,
    count(*) FILTER (WHERE NOT known AND joined > (SELECT archive_version FROM attempt AS p
        WHERE p.task = aged.task AND p.attempt = before)) AS newer,
    count(*) FILTER (WHERE NOT known_alike) AS changed_alike,
    count(*) FILTER (WHERE NOT known_alike AND joined > (SELECT archive_version FROM attempt AS p
        WHERE p.task = aged.task AND p.attempt = alike)) AS newer_alike
FROM aged GROUP BY task, attempt;
