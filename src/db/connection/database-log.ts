/** The part of a logger that the database needs. */
export interface DatabaseLog {
  warn(fields: object, message: string): void;
  error?(fields: object, message: string): void;
}
