SELECT name AS run, word AS primitive, teacher AS "taught by", ifnull(failed, 0) AS "failed attempts"
FROM taught JOIN run USING (nr) LEFT JOIN used USING (nr, word)
WHERE ifnull(used.solved, 0) = 0 ORDER BY nr, word;

SELECT 'taught, but in no solved kernel; with 0 failed attempts, nobody ever tried it' AS note;

SELECT 'every primitive that was taught is used by a solved kernel' AS empty;
