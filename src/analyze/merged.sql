-- What several tables ask of the merged rows, and of those of derived/.
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

CREATE VIEW asked AS
SELECT CAST(ifnull(max(value), 10000) AS INTEGER) AS rounds FROM given WHERE name = 'rounds';

-- What a model found in attempts that it was asked about: a share of NULL if its answer could
-- not be read, or never came.
CREATE VIEW answered AS
SELECT key AS place, value ->> 0 AS nr, value ->> 1 AS attempt, value ->> 2 AS solved,
    value ->> 3 AS state, value ->> 4 AS share, value ->> 5 AS dropped
FROM json_each((SELECT value FROM given WHERE name = 'answers'));

-- --training, taken apart: MODEL=SOURCE,PROBLEMS,SAMPLES. The first of a model counts.
CREATE VIEW training AS
WITH named AS (
    SELECT key AS place, value AS item,
        iif(instr(value, '='), substr(value, 1, instr(value, '=') - 1), NULL) AS model,
        substr(value, instr(value, '=') + 1) AS rest
    FROM json_each((SELECT value FROM given WHERE name = 'training'))),
sourced AS (
    SELECT *, substr(rest, 1, instr(rest, ',') - 1) AS source,
        substr(rest, instr(rest, ',') + 1) AS counts
    FROM named)
SELECT min(place), item, model, source, substr(counts, 1, instr(counts, ',') - 1) AS problems,
    substr(counts, instr(counts, ',') + 1) AS samples
FROM sourced GROUP BY model;
