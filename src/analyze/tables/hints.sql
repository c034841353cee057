-- A run in which a hint fired has a row for the attempts without one, too.
WITH told AS (
    SELECT nr, ord, attempt, verdict, hint,
        lead(attempt) OVER next IS NOT NULL AS followed,
        ifnull(lead(fitness) OVER next > fitness, 0) AS further
    FROM hinted WINDOW next AS (PARTITION BY nr, ord ORDER BY attempt)),
failed AS (
    SELECT nr, hint, error_kind(hint) AS kind, ord * 4294967296 + attempt AS place, 1 AS fired,
        followed, further
    FROM told WHERE verdict <> 'correct'
    UNION ALL SELECT nr, NULL, NULL, NULL, 0, 0, 0 FROM log),
counted AS (
    SELECT nr, hint, min(place), sum(fired) AS fired, sum(followed) AS followed,
        sum(further) AS further
    FROM failed GROUP BY nr, kind)
SELECT name AS run, ifnull(hint, '(no hint)') AS hint, fired, followed, further,
    1.0 * further / followed AS "share:%"
FROM counted JOIN log USING (nr) WHERE nr IN (SELECT nr FROM counted WHERE hint IS NOT NULL)
ORDER BY nr, hint IS NULL, fired DESC, hint;

SELECT 'followed: by another attempt at the task; further: that attempt had a higher fitness. Only '
    || 'methods that show feedback let the next attempt see the hint: refine, evolve and combined'
    AS note;

SELECT 'no hint fired' AS empty;
