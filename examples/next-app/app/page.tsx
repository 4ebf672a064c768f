import { welcome } from './actions';

export default function Page() {
  return (
    <form action={welcome}>
      <label>
        Mail address <input name="to" type="email" required />
      </label>
      <button type="submit">Send a welcome mail</button>
    </form>
  );
}
