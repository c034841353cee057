-- Leaves the tasks that all runs have, the same source in each; how many.
DELETE FROM task WHERE (id, hash) NOT IN (
    SELECT id, hash FROM task GROUP BY id, hash
    HAVING count(DISTINCT nr) = (SELECT count(*) FROM run));

UPDATE run SET tasks = (SELECT count(*) FROM task WHERE task.nr = run.nr),
    solved = (SELECT count(solved_at) FROM task WHERE task.nr = run.nr);

SELECT count(*) AS tasks FROM task;
