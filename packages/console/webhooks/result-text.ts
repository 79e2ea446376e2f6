/** The reasons of failed tries as people read them. */
const ERRORS: Readonly<Record<string, string>> = {
  status: 'Answered {code}',
  redirect: 'Redirected ({code}), which is not followed',
  gone: 'Answered 410: gone',
  timeout: 'No answer in time',
  connection_error: 'No connection',
  invalid_response: 'No readable answer',
  webhook_disabled: 'Not sent: the webhook was disabled',
};

/** Returns how a try ended. */
export function resultText(error: string | null, code: number | null): string {
  if (error === null) return code === null ? '' : `Answered ${code}`;
  return (ERRORS[error] ?? error).replace('{code}', String(code));
}
