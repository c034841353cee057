SELECT text(source) AS reference FROM task WHERE ord = :task;
