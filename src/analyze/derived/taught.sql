-- The primitives that a run was taught: those of its seeds, and others that its guide mentions.
CREATE TABLE taught AS
WITH lesson AS (
    SELECT log.nr, taught(log.nr, solution, text) AS words
    FROM log JOIN guide USING (nr) LEFT JOIN entry ON entry.nr = log.nr AND origin <> 'run'
    GROUP BY log.nr)
SELECT nr, key AS word, value AS teacher FROM lesson, json_each(words);
