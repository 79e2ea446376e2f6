import { join } from 'node:path';
import { runProgram } from '../start/parley.ts';

/**
 * Makes a certificate that signs itself, with `CN=<name>`; returns the paths of two PEM files in
 * `directory`.
 */
export async function makeCertificate(directory: string, name: string): Promise<[cert: string, key: string]> {
  const [cert, key] = [join(directory, `${name}-cert.pem`), join(directory, `${name}-key.pem`)];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const { code, stderr } = await runProgram(
    'openssl',
    [...request, '-subj', `/CN=${name}`, '-days', '2', '-keyout', key, '-out', cert],
    {},
  );
  if (code !== 0) throw new Error(stderr);
  return [cert, key];
}
