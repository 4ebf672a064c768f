import { Admission } from './admission.ts';
import { UnreadAnswers } from './unread-answers.ts';

/** The shares of this process that requests of clients have at present. */
export class Load {
  readonly admission = new Admission();
  readonly unread = new UnreadAnswers();
}
