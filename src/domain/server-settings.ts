/** The oldest major version of PostgreSQL that the migrations are tested with. */
export const OLDEST_SERVER = 15;

/** Settings of the server that each start and `doctor` examine, by their names in PostgreSQL. */
export interface ServerSettings {
  /** As `server_version_num`: 150004 is 15.4. */
  version: number;
  encoding: string;
  standby: boolean;
  fsync: string;
  synchronous_commit: string;
  full_page_writes: string;
}
