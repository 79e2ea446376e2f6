import type { CallOptions } from '../link/call-scope.ts';
import type { Routes } from './routes.ts';

/** A method of HTTP that the API uses. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * A request whose body and answer have the types of the endpoint at this path, if this version of
 * the SDK knows it. Parameters may be filled in or not known yet:
 * `/v1/messaging/messages/${string}`. For other paths the caller states the answer's type, `T`.
 */
export type TypedFetch = <
  T = never,
  const Path extends string = string,
  M extends MethodAt<Path> = [T] extends [never] ? MethodAt<Path> & 'GET' : MethodAt<Path>,
>(
  path: Path,
  ...[options]: 'GET' extends MethodAt<Path> ? [options?: RequestTo<Path, M>] : [options: RequestTo<Path, M>]
) => Promise<[T] extends [never] ? AnswerOf<Path, M> : NoInfer<T>>;

/** The methods of the endpoint at a path; all if the path is not known. */
type MethodAt<Path> = [Extract<keyof EndpointAt<Path>, Method>] extends [never]
  ? Method
  : Extract<keyof EndpointAt<Path>, Method>;

/** A request to the endpoint at a path; `body` is sent as JSON. */
export type RequestTo<Path, M> = CallOptions & {
  /** GET by default. */
  readonly method?: M;
} & (M extends keyof EndpointAt<Path>
    ? 'body' extends keyof EndpointAt<Path>[M]
      ? Pick<EndpointAt<Path>[M], 'body'>
      : { readonly body?: never }
    : { readonly body?: object });

/** The answer of the endpoint at a path; unknown if the path is not known. */
export type AnswerOf<Path, M> = M extends keyof EndpointAt<Path>
  ? EndpointAt<Path>[M] extends { readonly answer: infer Answer }
    ? Answer
    : unknown
  : unknown;

/** Unknown, which has no keys, if there is none. */
type EndpointAt<Path> = Path extends `/${infer Parts}` ? Below<Routes, Parts> : unknown;

type Below<Tree, Path> = Path extends `${infer Part}/${infer Others}`
  ? Below<Step<Tree, Part>, Others>
  : Step<Tree, Path extends `${infer Part}?${string}` ? Part : Path>;

type Step<Tree, Part> = Part extends keyof Tree ? Tree[Part] : '{}' extends keyof Tree ? Tree['{}'] : unknown;
