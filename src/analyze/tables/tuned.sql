SELECT format('--training ''%s'' is not MODEL=SOURCE,PROBLEMS,SAMPLES', item) AS usage
FROM training WHERE model IS NULL OR problems = '' OR problems GLOB '*[^0-9]*'
    OR samples = '' OR samples GLOB '*[^0-9]*';

-- Solved tasks that reach eager or compiled PyTorch, of a run that was timed.
WITH reach AS (
    SELECT nr, count(DISTINCT ord) FILTER (WHERE eager >= 1 OR compile >= 1) AS at_least,
        count(DISTINCT ord) FILTER (WHERE eager > 1 OR compile > 1) AS above
    FROM win WHERE coalesce(eager, compile) IS NOT NULL GROUP BY nr)
SELECT model, name AS run, source AS "source of data", ifnull(CAST(problems AS INTEGER), 0) AS problems,
    ifnull(CAST(samples AS INTEGER), 0) AS samples, solved, at_least AS "reach 1",
    1.0 * at_least / solved AS "share:%", above AS "above 1"
FROM run LEFT JOIN reach USING (nr) LEFT JOIN training USING (model)
ORDER BY nr;

SELECT 'reach 1: solved, and at least as fast as eager or compiled PyTorch; above 1: faster; '
    || 'share: of the solved' AS note;

SELECT 'no model is described as tuned: give --training MODEL=SOURCE,PROBLEMS,SAMPLES' AS missing
WHERE NOT EXISTS (SELECT 1 FROM run JOIN training USING (model));
