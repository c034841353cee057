-- The tasks of a run; `fits`: :word may mean it. That is its id, else the last part of it, else the
-- beginning of either. Those that fit come first.
WITH named AS (
    SELECT ord, id, substr(id, length(rtrim(id, replace(id, '/', ''))) + 1) AS last FROM task),
fitted AS (
    SELECT *, CASE WHEN id = :word THEN 1 WHEN last = :word THEN 2
        WHEN :word <> '' AND :word IN (substr(id, 1, length(:word)), substr(last, 1, length(:word)))
            THEN 3 END AS fit
    FROM named)
SELECT ord, id, last, ifnull(fit = (SELECT min(fit) FROM fitted), 0) AS "fits:b" FROM fitted
ORDER BY 4 DESC, ord;
