-- What several tables ask of the merged rows, and of those of made/.
CREATE VIEW strategy AS
SELECT nr, CASE WHEN max(retrieval = 'coverage') THEN 'coverage'
    WHEN count(*) > 1 THEN 'alternating' ELSE retrieval END AS retrieval
FROM modes WHERE retrieval IN ('similar', 'random', 'coverage') GROUP BY nr;

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
