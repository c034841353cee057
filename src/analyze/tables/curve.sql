SELECT k AS attempts, (
    SELECT json_group_object(name, solved) FROM (
        SELECT name, count(*) FILTER (WHERE solved_at <= k) AS solved
        FROM run LEFT JOIN task USING (nr) GROUP BY nr ORDER BY nr)) AS "*"
FROM number;
