-- The entries of a run's archive, how often each was shown to attempts, by their stages, and how
-- often these then solved their task. `used` is for people.
WITH used AS (
    SELECT entry, sum(two) AS two, sum(two AND solved) AS two_solved, sum(NOT two) AS one,
        sum(NOT two AND solved) AS one_solved
    FROM (SELECT task, attempt, solved, two_stages(method) AS two FROM attempt)
    JOIN shown USING (task, attempt) GROUP BY entry)
SELECT entry, name, origin, version, ifnull(left_version, 0) AS left,
    json_object('plan', json_object('shown', ifnull(two, 0), 'solved', ifnull(two_solved, 0)),
        'code', json_object('shown', ifnull(two, 0), 'solved', ifnull(two_solved, 0)),
        'evolve', json_object('shown', ifnull(one, 0), 'solved', ifnull(one_solved, 0)))
        AS "stages:j",
    iif(:text, iif(two, format('plan %d, %d; code %d, %d', two, two_solved, two, two_solved), '')
        || iif(two AND one, '; ', '') || iif(one, format('evolve %d, %d', one, one_solved), '')
        || iif(left_version, ' (out)', ''), NULL) AS "used:?"
FROM entry LEFT JOIN entry_left USING (entry) LEFT JOIN used USING (entry) ORDER BY entry;
