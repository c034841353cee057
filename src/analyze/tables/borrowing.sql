-- A model is asked first: see borrow.h.
SELECT name AS run, attempt, iif(solved, 'solved', 'failed') AS outcome, count(share) AS kernels,
    sum(share) / count(share) AS "borrowed:%",
    count(*) FILTER (WHERE answered.state = 'unreadable') AS unreadable,
    count(*) FILTER (WHERE answered.state = 'failed') AS "no answer"
FROM answered JOIN log USING (nr)
GROUP BY nr, attempt, solved HAVING count(share) OR max(answered.state IN ('unreadable', 'failed'))
ORDER BY nr, min(min(place)) OVER (PARTITION BY nr, attempt), solved DESC;

SELECT 'borrowed: lines of a kernel that are not blank and that the model says come from an '
    || 'example, averaged over kernels' AS note;

SELECT format('findings about an example that was not shown: %d, dropped', sum(dropped)) AS note
FROM answered HAVING sum(dropped);

SELECT 'it asks a model: give --table borrowing, --model and a budget' AS missing
WHERE NOT EXISTS (SELECT 1 FROM answered);
