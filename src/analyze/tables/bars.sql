WITH passed AS (
    SELECT run.*, ifnull(iif(whole, sum(pass_at_k(made, correct, 1)),
        1.0 * count(*) FILTER (WHERE solved_at = 1)) / tasks, 0.0) AS share
    FROM run LEFT JOIN task USING (nr) GROUP BY nr)
SELECT name AS run, dsl AS language, model, method, iif(whole, attempts, 1) AS N,
    share AS "pass@1:%",
    substr('##################################################', 1, round(share * 50)) AS bar
FROM passed ORDER BY nr;

SELECT 'N is 1 where tasks stopped at their first success: only first attempts are '
    || 'comparable then' AS note;
