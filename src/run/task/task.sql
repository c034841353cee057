SELECT id AS task, skipped, text(source) AS reference, NULL AS attempts, NULL AS attempt
FROM task WHERE ord = :task;
