WITH paid AS (
    SELECT run.*, (SELECT ifnull(sum(made), 0) FROM tasks WHERE tasks.nr = run.nr) AS made,
        ifnull(sum(answered), 0) AS calls, ifnull(sum(input), 0) AS input,
        ifnull(sum(output), 0) AS output, ifnull(sum(usd_micro), 0) AS usd_micro
    FROM run LEFT JOIN calls USING (nr) GROUP BY nr)
SELECT name AS run, dsl AS language, model, method, solved, made AS attempts, calls,
    input AS "tokens in",
    output AS "tokens out",
    usd_micro / 1e6 AS "dollars:6",
    1.0 * made / solved AS "attempts per solve:2",
    1.0 * (input + output) / solved AS "tokens per solve:0",
    usd_micro / 1e6 / solved AS "dollars per solve:6"
FROM paid ORDER BY nr;

SELECT name || ': tokens or dollars are partly estimated' AS note
FROM run WHERE nr IN (SELECT nr FROM calls WHERE estimated) ORDER BY nr;
