SELECT piece(kind, level, depth, parents, needs) AS "piece:o" FROM task WHERE ord = :task;
