// Apache Iceberg's own REST catalog (the one its compatibility tests serve) over a JDBC
// catalog in SQLite, on a loopback port. Beyond what Iceberg brings it asks for tokens and
// vends credentials.
//
// usage: CatalogServer PORT key=value…
//   uri, warehouse, io-impl, s3.*   of the JDBC catalog
//   require-token=T                 all requests need it; a credential=ID:SECRET yields it
//   vend-prefix=s3://bucket/        tables below it come with the s3.* keys
package org.apache.iceberg.rest;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.credentials.ImmutableCredential;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

public class CatalogServer {
  static class Vending extends RESTCatalogAdapter {
    private final Map<String, String> settings;

    Vending(JdbcCatalog catalog, Map<String, String> settings) {
      super(catalog);
      this.settings = settings;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends RESTResponse> T handleRequest(
        Route route, Map<String, String> vars, HTTPRequest request, Class<T> type,
        Consumer<Map<String, String>> headers) {
      T response = super.handleRequest(route, vars, request, type, headers);
      String prefix = settings.get("vend-prefix");
      boolean wanted = request.headers().contains("X-Iceberg-Access-Delegation");
      if (prefix == null || !wanted || !(response instanceof LoadTableResponse loaded)) {
        return response;
      }
      ImmutableCredential.Builder keys = ImmutableCredential.builder().prefix(prefix);
      settings.forEach((key, value) -> {
        if (key.startsWith("s3.")) keys.putConfig(key, value);
      });
      return (T) LoadTableResponse.builder().withTableMetadata(loaded.tableMetadata())
          .addAllConfig(loaded.config()).addCredential(keys.build()).build();
    }
  }

  static class Guarded extends RESTCatalogServlet {
    private final Map<String, String> settings;

    Guarded(RESTCatalogAdapter adapter, Map<String, String> settings) {
      super(adapter);
      this.settings = settings;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      String token = settings.get("require-token");
      if (request.getPathInfo().equals("/v1/oauth/tokens")) {
        String given = request.getParameter("client_id") + ":"
            + request.getParameter("client_secret");
        boolean right = given.equals(settings.get("credential"));
        answer(response, right ? 200 : 400, right
            ? "{\"access_token\": \"" + token + "\", \"token_type\": \"bearer\"}"
            : "{\"error\": \"invalid_client\"}");
      } else if (token != null && !("Bearer " + token).equals(request.getHeader("Authorization"))) {
        answer(response, 401, "{\"error\": {\"message\": \"Not authorized\", \"type\": "
            + "\"NotAuthorizedException\", \"code\": 401}}");
      } else {
        super.service(request, response);
      }
    }

    private static void answer(HttpServletResponse response, int status, String json)
        throws IOException {
      response.setStatus(status);
      response.setContentType("application/json");
      response.getWriter().write(json);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> settings = new HashMap<>();
    for (int i = 1; i < arguments.length; ++i) {
      String[] parts = arguments[i].split("=", 2);
      settings.put(parts[0], parts[1]);
    }
    settings.putIfAbsent("jdbc.schema-version", "V1");
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize("rest", settings);
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(
        new ServletHolder(new Guarded(new Vending(catalog, settings), settings)), "/*");
    Server server =
        new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
    server.setHandler(context);
    server.start();
    server.join();
  }
}
