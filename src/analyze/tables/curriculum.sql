-- A task that some run has solved has a column of its own.
WITH solved AS (SELECT DISTINCT id FROM task WHERE solved_at IS NOT NULL)
SELECT name AS run, dsl AS language, model, method, seeds AS "kernels at the start", setting,
    iif(divided, c.pieces, NULL) AS pieces,
    iif(divided, c.solved, NULL) AS "pieces solved",
    tasks, run.solved AS "tasks solved",
    (SELECT json_group_object(id, won) FROM (
        SELECT s.id, iif(max(solved_at) IS NULL, NULL, 'yes') AS won
        FROM solved AS s LEFT JOIN task AS t ON t.nr = run.nr AND t.id = s.id
        GROUP BY s.id ORDER BY s.id)) AS "*"
FROM run JOIN curriculum AS c USING (nr) ORDER BY nr;

SELECT format('%s: %d of its pieces were never tried', name, pieces - tried) AS note
FROM run JOIN curriculum USING (nr) WHERE tried < pieces ORDER BY nr;

SELECT format('%d other task%s solved by none of the runs', n, iif(n = 1, ' was', 's were')) AS note
FROM (SELECT count(DISTINCT id) - count(DISTINCT iif(solved_at IS NULL, NULL, id)) AS n FROM task)
WHERE n;
