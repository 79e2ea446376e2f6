/**
 * SQL: text that is another one after a dump was restored, wherever to. It identifies the cluster,
 * the database in it and the tables, which a restore creates again. After a recovery to an earlier
 * moment it is the same: the timeline differs then.
 */
export const DATABASE_ID = `(
    SELECT concat_ws('.', (SELECT system_identifier FROM pg_control_system()), oid, 'settings'::regclass::oid)
    FROM pg_database WHERE datname = current_database()
  )`;
