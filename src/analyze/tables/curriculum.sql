-- A task that some run has solved has a column of its own.
WITH piece AS (
    SELECT nr, piece_level, skipped, won FROM tasks WHERE piece),
divided AS (
    SELECT nr, count(*) FILTER (WHERE NOT skipped) AS pieces,
        count(*) FILTER (WHERE NOT skipped AND won) AS won,
        coalesce((SELECT group_concat(piece_level, ', ') FROM (
            SELECT DISTINCT piece_level FROM piece AS p
            WHERE p.nr = piece.nr AND piece_level IN ('coarse', 'medium', 'fine')
            ORDER BY instr('coarse medium fine', piece_level))), 'pieces') AS setting
    FROM piece GROUP BY nr),
solved AS (SELECT DISTINCT id FROM task WHERE solved_at IS NOT NULL)
SELECT name AS run, dsl AS language, model, method, seeds AS "kernels at the start",
    ifnull(setting, 'monolithic') AS setting, pieces, won AS "pieces solved", tasks, solved AS "tasks solved",
    (SELECT json_group_object(id, won) FROM (
        SELECT s.id, iif(max(solved_at) IS NULL, NULL, 'yes') AS won
        FROM solved AS s LEFT JOIN task AS t ON t.nr = run.nr AND t.id = s.id
        GROUP BY s.id ORDER BY s.id)) AS "*"
FROM run LEFT JOIN divided USING (nr) ORDER BY nr;

SELECT format('%s: %d of its pieces were never tried', run.name, count(*)) AS note
FROM run JOIN tasks USING (nr)
WHERE piece AND NOT tasks.skipped AND made = 0
GROUP BY nr ORDER BY nr;

SELECT format('%d other task%s solved by none of the runs', n, iif(n = 1, ' was', 's were')) AS note
FROM (SELECT count(DISTINCT id) - count(DISTINCT iif(solved_at IS NULL, NULL, id)) AS n FROM task)
WHERE n;
