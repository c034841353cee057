-- What every table asks of the merged rows. A task takes part if it is no piece and
-- the gate did not skip it. A kernel that the reviewer refused does not count.
CREATE TABLE task AS
WITH tried AS (
    SELECT nr, ord, count(*) AS tries,
        count(*) FILTER (WHERE solved) AS correct,
        min(attempt) FILTER (WHERE solved) AS solved_at,
        min(attempt) FILTER (WHERE compiled) AS compiled_at
    FROM attempts GROUP BY nr, ord)
SELECT nr, ord, id, hash, substr(id, 1, instr(id, '/') - 1) AS level,
    ifnull(tries, 0) AS tries, iif(refused, 0, ifnull(correct, 0)) AS correct,
    iif(refused, NULL, solved_at) AS solved_at, compiled_at,
    ifnull(input, 0) AS input, ifnull(output, 0) AS output, ifnull(usd_micro, 0) AS usd_micro
FROM tasks LEFT JOIN tried USING (nr, ord) LEFT JOIN calls USING (nr, ord)
WHERE NOT piece AND NOT skipped ORDER BY nr, ord;
CREATE INDEX task_ord ON task (nr, ord);
CREATE INDEX task_id ON task (id, nr);
CREATE INDEX timed_ord ON timed (nr, ord);
CREATE INDEX attempts_ord ON attempts (nr, ord);

-- Each run in a row. `attempts`: the most that a task may make. `whole`: every task
-- made them all. `retrieval` is what the attempts did: an option may have been changed.
CREATE TABLE run AS
WITH counted AS (
    SELECT nr, count(*) AS tasks, count(solved_at) AS solved, min(tries) AS least,
        max(tries) AS most
    FROM task GROUP BY nr),
known AS (
    SELECT nr,
        max(value) FILTER (WHERE name = 'dsl') AS dsl,
        max(value) FILTER (WHERE name = 'model') AS model,
        max(value) FILTER (WHERE name = 'method') AS method,
        CAST(max(value) FILTER (WHERE name = 'attempts') AS INTEGER) AS allowed
    FROM fact GROUP BY nr),
tried AS (
    SELECT nr, count(*) AS made,
        max(retrieval = 'similar' AND NOT piece) AS similar,
        max(retrieval = 'random' AND NOT piece) AS random,
        max(retrieval = 'coverage' AND NOT piece) AS coverage
    FROM attempts JOIN tasks USING (nr, ord) GROUP BY nr),
paid AS (
    SELECT nr, sum(answered) AS calls, sum(input) AS input, sum(output) AS output,
        sum(usd_micro) AS usd_micro, max(estimated) AS estimated
    FROM calls GROUP BY nr)
SELECT nr, name, state, seeds, ifnull(dsl, '') AS dsl, ifnull(model, '') AS model,
    ifnull(method, '') AS method, ifnull(tasks, 0) AS tasks, ifnull(solved, 0) AS solved,
    (SELECT count(*) FROM tasks WHERE tasks.nr = log.nr AND skipped AND NOT piece) AS skipped,
    iif(allowed > 0, allowed, ifnull(most, 0)) AS attempts,
    ifnull(least = most AND most = iif(allowed > 0, allowed, most), 0) AS whole,
    ifnull(made, 0) AS made,
    CASE WHEN coverage THEN 'coverage' WHEN similar AND random THEN 'alternating'
        WHEN similar THEN 'similar' WHEN random THEN 'random' ELSE '' END AS retrieval,
    ifnull(calls, 0) AS calls, ifnull(input, 0) AS input, ifnull(output, 0) AS output,
    ifnull(usd_micro, 0) AS usd_micro, estimated
FROM log LEFT JOIN counted USING (nr) LEFT JOIN known USING (nr) LEFT JOIN tried USING (nr)
LEFT JOIN paid USING (nr) ORDER BY nr;

CREATE VIEW number AS
WITH RECURSIVE up (k) AS (
    SELECT 1 UNION ALL SELECT k + 1 FROM up WHERE k < (SELECT max(attempts) FROM run))
SELECT k FROM up;

-- Kernels that solved a task, with their times.
CREATE VIEW win AS
SELECT timed.*, solved_at FROM timed JOIN task USING (nr, ord) WHERE solved_at IS NOT NULL;

-- `given`, taken apart: MODEL=SOURCE,PROBLEMS,SAMPLES. The first of a model counts.
CREATE VIEW training AS
WITH named AS (
    SELECT rowid AS place, item, iif(instr(item, '='), substr(item, 1, instr(item, '=') - 1), NULL)
        AS model, substr(item, instr(item, '=') + 1) AS rest
    FROM given),
sourced AS (
    SELECT *, substr(rest, 1, instr(rest, ',') - 1) AS source,
        substr(rest, instr(rest, ',') + 1) AS counts
    FROM named)
SELECT min(place), item, model, source, substr(counts, 1, instr(counts, ',') - 1) AS problems,
    substr(counts, instr(counts, ',') + 1) AS samples
FROM sourced GROUP BY model;
