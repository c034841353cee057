-- A task takes part if it is no piece and the gate did not skip it.
CREATE TABLE task AS
SELECT nr, ord, id, hash, substr(id, 1, instr(id, '/') - 1) AS level, made, correct, solved_at
FROM tasks WHERE NOT piece AND NOT skipped ORDER BY nr, ord;
CREATE INDEX task_ord ON task (nr, ord);
CREATE INDEX task_id ON task (id, nr);
CREATE INDEX task_hash ON task (hash);
