SELECT retrieval, name AS run, attempts, tasks, solved, 1.0 * solved / tasks AS "share:%"
FROM run JOIN strategy USING (nr)
ORDER BY instr('random similar alternating coverage', retrieval), nr;

SELECT 'it needs runs with two or more strategies of retrieval' AS missing
WHERE (SELECT count(DISTINCT retrieval) FROM strategy) < 2;
