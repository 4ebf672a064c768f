/** The demo is a normal client: it uses nothing but the REST API. */
export interface DemoApi {
  post<T>(path: string, body: string): Promise<T>;
  get<T>(path: string): Promise<T>;
}

export interface DemoJob {
  id: string;
  status: string;
  history: { status: string }[];
}

export interface DemoPage {
  jobs: DemoJob[];
  total: number;
}

/** @param signal aborts every running and later request */
export function createApi(baseUrl: string, apiKey: string, signal: AbortSignal): DemoApi {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const call = async <T>(path: string, init: RequestInit): Promise<T> => {
    const response = await fetch(`${baseUrl}/v1${path}`, { ...init, headers, signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
  return {
    post: (path, body) => call(path, { method: 'POST', body }),
    get: (path) => call(path, { method: 'GET' }),
  };
}
