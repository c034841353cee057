-- What every table asks of the merged rows: each run in a row, and its solved tasks.
CREATE INDEX task_nr ON task (nr, ord);
CREATE INDEX timed_nr ON timed (nr, ord);
CREATE INDEX outcome_nr ON outcome (nr, ord);

-- `attempts`: the most that a task may make. `whole`: every task made them all.
CREATE VIEW run AS
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
whole AS (
    SELECT nr, log.*, ifnull(dsl, '') AS dsl, ifnull(model, '') AS model,
        ifnull(method, '') AS method, ifnull(tasks, 0) AS tasks, ifnull(solved, 0) AS solved,
        least, most, iif(allowed > 0, allowed, ifnull(most, 0)) AS attempts
    FROM log LEFT JOIN counted USING (nr) LEFT JOIN known USING (nr))
SELECT *, ifnull(least = most AND most = attempts, 0) AS whole FROM whole;

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
