WITH diagnostic AS MATERIALIZED (
    SELECT nr, error, count(*) AS n FROM failed GROUP BY nr, error)
SELECT name AS run, word AS name, failed AS "failed attempts", (
    SELECT ifnull(sum(n), 0) FROM diagnostic WHERE diagnostic.nr = used.nr AND has_word(error, word))
    AS "in diagnostics"
FROM used JOIN run USING (nr)
WHERE used.solved = 0 AND (nr, word) NOT IN (SELECT nr, word FROM taught) ORDER BY nr, word;

SELECT 'used, but neither taught nor in a solved kernel; in diagnostics: failed attempts whose first '
    || 'error line has the name. A name may exist without being taught' AS note;

SELECT 'no such name was used' AS empty;
