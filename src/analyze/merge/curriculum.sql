-- One row: the pieces of a run. Those that the gate skipped take no part.
WITH piece AS (
    SELECT level, skipped, count(attempt) AS tries, max(solved) AS solved
    FROM task LEFT JOIN attempt ON attempt.task = ord
    WHERE kind IS NOT NULL GROUP BY ord)
SELECT :nr AS nr,
    count(*) > 0 AS divided,
    count(*) FILTER (WHERE skipped IS NULL) AS pieces,
    count(*) FILTER (WHERE skipped IS NULL AND tries) AS tried,
    count(*) FILTER (WHERE skipped IS NULL AND solved) AS solved,
    coalesce((SELECT group_concat(level, ', ') FROM (
        SELECT DISTINCT level FROM piece WHERE level IN ('coarse', 'medium', 'fine')
        ORDER BY instr('coarse medium fine', level))),
        iif(count(*), 'pieces', 'monolithic')) AS setting
FROM piece;
