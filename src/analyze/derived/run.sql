-- Each run in a row. `attempts`: the most that a task may make. `whole`: every task
-- made them all.
CREATE TABLE run AS
WITH counted AS (
    SELECT nr, count(*) AS tasks, count(solved_at) AS solved, min(made) AS least,
        max(made) AS most
    FROM task GROUP BY nr),
known AS (
    SELECT nr,
        max(value) FILTER (WHERE name = 'dsl') AS dsl,
        max(value) FILTER (WHERE name = 'model') AS model,
        max(value) FILTER (WHERE name = 'method') AS method,
        CAST(max(value) FILTER (WHERE name = 'attempts') AS INTEGER) AS allowed
    FROM fact GROUP BY nr)
SELECT nr, name, state, seeds, ifnull(dsl, '') AS dsl, ifnull(model, '') AS model,
    ifnull(method, '') AS method, ifnull(tasks, 0) AS tasks, ifnull(solved, 0) AS solved,
    (SELECT count(*) FROM tasks WHERE tasks.nr = log.nr AND skipped AND NOT piece) AS skipped,
    iif(allowed > 0, allowed, ifnull(most, 0)) AS attempts,
    ifnull(least = most AND most = iif(allowed > 0, allowed, most), 0) AS whole
FROM log LEFT JOIN counted USING (nr) LEFT JOIN known USING (nr) ORDER BY nr;
