SELECT '# ' || id || ifnull(char(10) || 'skipped: ' || skipped, '')
    || iif(EXISTS (SELECT 1 FROM attempt WHERE task = ord), '', char(10) || 'No attempt is finished.')
FROM task WHERE ord = :task;
