SELECT name AS run, word AS primitive, ifnull(used.solved, 0) AS solved,
    ifnull(1.0 * used.solved / run.solved, 0.0) AS "share:%",
    ifnull(failed, 0) AS "failed attempts", ifnull(teacher, 'no') AS taught
FROM (SELECT nr, word FROM used UNION SELECT nr, word FROM taught) JOIN run USING (nr)
LEFT JOIN used USING (nr, word) LEFT JOIN taught USING (nr, word)
ORDER BY nr, word;

SELECT 'solved: kernels that use it; taught: shown by a seed, or only mentioned by the guide, or '
    || 'neither' AS note;

SELECT 'no program is stored' AS empty;
