SELECT count(*) AS tries, ifnull(max(attempt = :attempt), 0) AS there FROM attempt WHERE task = :task;
